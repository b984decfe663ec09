import { Module } from "@nestjs/common";

/** The controllers and providers of your app go here. */
@Module({})
export class AppModule {}
